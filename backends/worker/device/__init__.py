"""What a host with devices gets: jobs that outlive their connection, leases of cores, the SDK's interfaces."""
