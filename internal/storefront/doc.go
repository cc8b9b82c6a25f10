// Package storefront serves the buyers' sale page, which web/storefront builds: the files in dist are committed as
// built. It decides what a browser may keep and for how long, and what the page may load (its content security policy);
// it puts a shop's own colours and texts in. It knows nothing of campaigns: the page is the same for every buyer and
// every campaign, so that a CDN can carry it.
package storefront
