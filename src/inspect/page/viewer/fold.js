// Controls that fold if the window is narrow, so that the picture comes first.
{
  const {make} = headwise.dom;
  const NARROW = 760;       // pixels, as in viewer.css
  const opened = new Set();  // ids; they stay open when the view is drawn again

  headwise.narrow = () => document.documentElement.clientWidth <= NARROW;

  // The controls themselves if there is space.
  headwise.fold = (id, label, controls) => {
    if (!headwise.narrow()) return controls;
    const remember = node => { if (node.open) opened.add(id); else opened.delete(id); };
    const before = document.getElementById(id);
    if (before) remember(before);  // its event may come only after this one is drawn
    return make('details', {
      id, class: 'fold', open: opened.has(id), ontoggle: ({target}) => remember(target),
    }, make('summary', {}, label), controls);
  };
}
