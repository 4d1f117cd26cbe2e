"""From records to tables, summaries and reports. Knows the harness's types and no benchmark."""
