package main

import (
	"fmt"
	"os"
)

// completionCmd prints what a shell needs to complete sluice.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// scripts are what each shell is told: to ask the binary itself, by COMP_LINE.
var scripts = map[string]string{
	"bash": "complete -C %q sluice\n",
	"zsh":  "autoload -U +X bashcompinit && bashcompinit\ncomplete -C %q sluice\n",
	"fish": `function __complete_sluice
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    %q
end
complete -f -c sluice -a "(__complete_sluice)"
`,
}

// Help says how to use it.
func (completionCmd) Help() string {
	return `bash: echo 'source <(sluice completion bash)' >> ~/.bashrc
zsh:  echo 'source <(sluice completion zsh)' >> ~/.zshrc
fish: sluice completion fish > ~/.config/fish/completions/sluice.fish`
}

// Run prints the script.
func (c *completionCmd) Run(a *app) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("where this program is: %w", err)
	}
	_, err = fmt.Fprintf(a.out, scripts[c.Shell], self)
	return err
}
