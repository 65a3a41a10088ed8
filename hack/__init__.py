"""Development tools: the local cluster, `make up`, generators of checked-in files."""
