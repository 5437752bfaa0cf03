"""What can be computed about a kernel on plain data: limits, occupancy, accesses, roofline."""
