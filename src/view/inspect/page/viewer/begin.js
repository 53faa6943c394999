// Everything is defined; the page starts.
headwise.begin();
