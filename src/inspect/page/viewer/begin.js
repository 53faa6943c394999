// Everything stands; the page begins.
headwise.begin();
