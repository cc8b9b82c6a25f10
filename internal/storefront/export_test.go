package storefront

// CheckTexts is what a shop's texts.json goes through.
var CheckTexts = checkTexts
