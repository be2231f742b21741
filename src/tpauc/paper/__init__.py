"""The paper's data, models, methods, theory, tables and figures, rebuilt and checked."""
