// The viewer's script starts here. `headwise` is its only global: every file adds
// to it, and keeps the rest private in its own block.
'use strict';
const headwise = {};
