"""What every command stands in: the lazy listing, output and errors, Ctrl-C, compiling first. No command is here."""
