package lab

// Judge is judge, for tests.
func (k *Client) Judge(cpus int, shared bool) { k.judge(cpus, shared) }

// ParseAnswer is parseAnswer, for tests.
func ParseAnswer(b []byte) (size int, more bool, err error) {
	a, more, err := parseAnswer(b)
	return a.size, more, err
}
