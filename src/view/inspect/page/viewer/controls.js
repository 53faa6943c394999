// Controls of what state.js holds. They fold if the window is narrow, so that the picture
// comes first.
{
  const {make, choice, field, toggle} = headwise.dom;
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

  // The same around tools.
  headwise.foldTools = (id, label, ...tools) => headwise.fold(id, label,
      make('div', {class: 'tools', role: 'group', 'aria-label': label}, tools));

  // Chooses a part of the state among [value, text].
  headwise.chooser = (name, label, choices,
      {id = name, value = headwise.state.get()[name], title} = {}) => field(id, label,
      choice({id, title}, value, choices, chosen => headwise.state.set({[name]: chosen})));

  // Switches a part of the state on and off.
  headwise.toggler = (name, text, title) => {
    const on = headwise.state.get()[name];
    return toggle({id: name, title}, on, text, () => headwise.state.set({[name]: !on}));
  };

  // By what a view is sorted, `none` without a statistic, and from which end: `end` says so
  // where that matters without one, too.
  headwise.sortTools = (none, end) => {
    const {t, state, chooser, toggler, statistics} = headwise;
    return [chooser('sort', t('Sort by'), [['', none], ...statistics.choices()]),
      (end || state.get().sort !== '') && toggler('descending', end || t('Largest first'))];
  };
}
