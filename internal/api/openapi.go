package api

// opDoc documents one route of the public listener.
type opDoc struct {
	summary, detail, tag string
	request              any // a zero value of the body's type; nil where there is no body
	optionalBody         bool
	response             any // a zero value of the answer's type
	status               int // of the good answer; zero means 200
	query                []paramDoc
	header               []paramDoc
	problems             []int // statuses beyond 400, 404, 500 and what authKind and a body bring
}

// paramDoc documents one parameter of the query or one header.
type paramDoc struct {
	name, kind, means string // kind is string or integer
	low, high         int64  // bounds of an integer; bounds of the length of a string
}

// pageDocs are the parameters of every page.
func pageDocs() []paramDoc {
	return []paramDoc{
		{"limit", "integer", "Items of one page; default 100", 1, maxPage},
		{"cursor", "string", "next_cursor of the page before", 0, 256},
	}
}
