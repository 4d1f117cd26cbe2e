"""From records to tables, summaries and reports. Knows AgentGauge's types and no benchmark."""
