"""Every write of the Agent API that means something; the only room that opens a transaction."""
