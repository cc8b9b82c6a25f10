package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// isJSON says whether a Content-Type is application/json, with or without parameters.
func isJSON(contentType []byte) bool {
	base, _, _ := bytes.Cut(contentType, []byte(";"))
	return bytes.EqualFold(bytes.TrimSpace(base), typeJSON)
}

// bodySchemas registers the type of every body, so that decoding only reads the registry.
func bodySchemas(routes []route) (huma.Registry, map[reflect.Type]*huma.Schema) {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	bodies := map[reflect.Type]*huma.Schema{}
	for _, r := range routes {
		if r.doc.request != nil {
			t := reflect.TypeOf(r.doc.request)
			bodies[t] = registry.Schema(t, true, "")
		}
		if r.doc.response != nil {
			registry.Schema(reflect.TypeOf(r.doc.response), true, "")
		}
	}
	registry.Schema(reflect.TypeFor[Problem](), true, "")
	return registry, bodies
}

// schemaName names a schema after its type.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	return strings.ToUpper(name[:1]) + name[1:]
}

// decodeStrict reads body into v, a pointer. It checks the form first, then the fields against the schema of v's
// type.
func (p *Public) decodeStrict(body []byte, v any) error {
	if err := checkJSON(body); err != nil {
		return err
	}
	var loose any
	if err := json.Unmarshal(body, &loose); err != nil {
		return newProblem(http.StatusBadRequest, codeMalformed, "the body is not one JSON value")
	}
	if schema := p.bodies[reflect.TypeOf(v).Elem()]; schema != nil {
		var res huma.ValidateResult
		huma.Validate(p.schemas, schema, huma.NewPathBuffer(make([]byte, 0, 64), 0), huma.ModeWriteToServer, loose, &res)
		if len(res.Errors) > 0 {
			return fieldsOf(res.Errors)
		}
	}
	return unmarshal(body, v)
}

// unmarshal is json.Unmarshal with a problem for an error.
func unmarshal(body []byte, v any) error {
	err := json.Unmarshal(body, v)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return invalidField(wrong.Field, "must be of type "+wrong.Type.String())
	}
	return newProblem(http.StatusUnprocessableEntity, codeValidation, "a value of the body cannot be read")
}

// fieldsOf makes a 422 of huma's findings.
func fieldsOf(errs []error) *Problem {
	p := newProblem(http.StatusUnprocessableEntity, codeValidation, "the request cannot be carried out as it stands")
	for _, err := range errs[:min(len(errs), maxErrors)] {
		var d huma.ErrorDetailer
		if errors.As(err, &d) {
			x := d.ErrorDetail()
			field := strings.TrimPrefix(strings.TrimPrefix(x.Location, "body."), "query.")
			p.Errors = append(p.Errors, FieldProblem{Field: field, Detail: x.Message})
		}
	}
	return p
}

// checkJSON accepts exactly one JSON value, nested at most maxNesting levels, in which no object has a key twice
// (upper and lower case are one, as they are to encoding/json) or a null: decoding takes that for an absent field, and
// whoever sends it to take something away would be told that it was done. The error is a *Problem.
func checkJSON(body []byte) error {
	malformed := newProblem(http.StatusBadRequest, codeMalformed, "the body is not one JSON value")
	if !json.Valid(body) {
		return malformed
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	type level struct {
		keys  map[string]struct{} // nil in an array
		key   string              // the last one
		value bool                // the next token is a value
	}
	var stack []level
	for {
		tok, err := dec.Token()
		if err != nil {
			return nil // the end: the body is valid
		}
		top := len(stack) - 1
		if top >= 0 && stack[top].keys != nil && !stack[top].value {
			if key, ok := tok.(string); ok {
				folded := strings.ToLower(key)
				if _, twice := stack[top].keys[folded]; twice {
					return invalidField(key, "is there twice")
				}
				stack[top].keys[folded], stack[top].key, stack[top].value = struct{}{}, key, true
				continue
			}
		} else if top >= 0 {
			if stack[top].value = false; tok == nil && stack[top].keys != nil {
				return invalidField(stack[top].key, "must not be null: leave it out")
			}
		}
		switch tok {
		case json.Delim('{'):
			stack = append(stack, level{keys: map[string]struct{}{}})
		case json.Delim('['):
			stack = append(stack, level{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
		if len(stack) > maxNesting {
			return newProblem(http.StatusBadRequest, codeMalformed, "the body is nested too deeply")
		}
	}
}
