// The viewer's script begins here. `headwise` is its one global: every file adds
// a part to it and keeps the rest to itself, in a block of its own.
'use strict';
const headwise = {};
