"""The MCP tools: one file each, parameters in, one call below, one result model out."""
