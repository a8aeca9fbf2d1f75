"""The page on which a developer tries the API: its pages, and what the page needs beside the API itself."""
