package sluice

import "errors"

// The sentinels that adapters translate their driver's errors to. Callers use errors.Is.
var (
	// ErrInvalid: the request itself cannot be right; the caller must change it.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound: there is no such thing, or it is not the caller's.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the thing is in a state, or an id is in a use, that forbids the step.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable: nothing was done; the same call may be made again later.
	ErrUnavailable = errors.New("unavailable")
	// ErrUncertain: it is not known whether it was done; ask before doing it again (a call with an id may be repeated).
	ErrUncertain = errors.New("outcome unknown")
)

// Fault is an error with what a caller needs to act on it. Kind is one of the sentinels; Code is stable and upper
// case; Detail is a sentence in English; Fields name what is wrong in a body.
type Fault struct {
	Kind   error
	Code   string
	Detail string
	Fields []FieldFault
}

// FieldFault names one field of a body and the bound it broke.
type FieldFault struct {
	Field  string
	Detail string
}

// NewFault makes a Fault without fields.
func NewFault(kind error, code, detail string) *Fault {
	return &Fault{Kind: kind, Code: code, Detail: detail}
}

// Error gives code and detail.
func (f *Fault) Error() string {
	s := f.Code + ": " + f.Detail
	for _, x := range f.Fields {
		s += "; " + x.Field + ": " + x.Detail
	}
	return s
}

// Unwrap gives the sentinel.
func (f *Fault) Unwrap() error { return f.Kind }

// Invalid makes an ErrInvalid Fault with code VALIDATION, or nil where no field is at fault.
func Invalid(fields ...FieldFault) error {
	if len(fields) == 0 {
		return nil
	}
	return &Fault{
		Kind: ErrInvalid, Code: "VALIDATION", Detail: "the request cannot be carried out as it stands", Fields: fields,
	}
}
