package metrics

// Risk is what risk rules have done.
type Risk struct {
	Acts       []RiskActs
	Records    int64
	Unrecorded int64
	Asks       map[string]int64 // of the risk service, by what came of them
}

// RiskActs is how often one rule held for a claim.
type RiskActs struct {
	Rule, Mode, Action string
	N                  int64
}

var (
	riskActs = Def{"sluice_risk_acts_total", Counter, []string{"rule", "mode", "action"},
		"Claims for which a risk rule held, by rule, mode (dry_run, on) and action (log, challenge, slow, block)."}
	riskRecords = Def{"sluice_risk_records", Gauge, nil,
		"Records of what risk rules did that are in force on this node; see /v1/admin/rules/fired."}
	riskUnrecorded = Def{"sluice_risk_unrecorded_total", Counter, nil,
		"Acts of risk rules that were carried out and found no room for a record."}
	riskAsks = Def{"sluice_risk_service_total", Counter, []string{"result"},
		"Questions to the risk service: allow, challenge, block, failed (no answer in time), " +
			"rested (not asked, since it had failed)."}
)

func riskDefs() []Def { return []Def{riskActs, riskRecords, riskUnrecorded, riskAsks} }

func (src *Sources) risk(to sink) {
	if src.Risk == nil {
		return
	}
	r := src.Risk()
	for _, a := range r.Acts {
		to.send(riskActs, float64(a.N), a.Rule, a.Mode, a.Action)
	}
	to.send(riskRecords, float64(r.Records))
	to.send(riskUnrecorded, float64(r.Unrecorded))
	for what, n := range r.Asks {
		to.send(riskAsks, float64(n), what)
	}
}
