"""Code that looks at delivered files inside the sandbox. It sees this package, and nothing else of this benchmark."""
