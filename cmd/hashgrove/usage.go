package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the number of columns that the help takes.
const helpWidth = 110

// printUsage prints how a verb is called: its line, examples, and flags in groups.
func printUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		printVerbs(w, cmd)
	}
	var titles []string
	groups := map[string]*pflag.FlagSet{}
	add := func(f *pflag.Flag) {
		title := groupOf(f)
		if title == "" {
			title = "Global"
		}
		if groups[title] == nil {
			titles = append(titles, title)
			groups[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			groups[title].SortFlags = false
		}
		groups[title].AddFlag(f)
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	for _, title := range titles {
		if groups[title].HasAvailableFlags() {
			fmt.Fprintf(w, "\n%s:\n%s", title, groups[title].FlagUsagesWrapped(helpWidth))
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%q explains a verb.\n", strings.TrimSpace("hashgrove help "+verb(cmd))+" VERB")
	}
	return nil
}

// printVerbs lists the verbs of a command in their groups.
func printVerbs(w io.Writer, cmd *cobra.Command) {
	list := func(title, group string) {
		for _, c := range cmd.Commands() {
			if c.GroupID != group || !c.IsAvailableCommand() {
				continue
			}
			if title != "" {
				fmt.Fprintf(w, "\n%s:\n", title)
				title = ""
			}
			fmt.Fprintf(w, "  %-*s  %s\n", cmd.NamePadding(), c.Name(), c.Short)
		}
	}
	for _, g := range cmd.Groups() {
		list(g.Title, g.ID)
	}
	list("Verbs", "")
}

// helpVerb is "hashgrove help".
func helpVerb() *cobra.Command {
	return &cobra.Command{
		Use:     "help [VERB]",
		Short:   "Explain a verb",
		GroupID: groupFiles,
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil {
				return usageError{err}
			}
			if len(rest) > 0 {
				return unknownVerb(target, rest[0])
			}
			return target.Help()
		},
	}
}

// unknownVerb is the error about a verb that does not exist, with the one that was meant.
func unknownVerb(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	where, asked := "there is no verb", strings.TrimSpace("hashgrove help "+verb(cmd))
	if cmd.HasParent() {
		where = verb(cmd) + " has no verb"
	}
	if advice := suggestion(word, "", names); advice != "" {
		return usagef("%s %q%s", where, word, advice)
	}
	return usagef("%s %q; %q lists the verbs", where, word, asked)
}
