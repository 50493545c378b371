"""Networks: the graph, its equivalence class, its parameters, its files and its bridges."""
