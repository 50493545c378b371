"""From a table to candidate lists: scores, rules, the search and its account."""
