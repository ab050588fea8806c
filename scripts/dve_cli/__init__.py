"""The `dve` command: one file per subcommand, thin over the libraries."""
