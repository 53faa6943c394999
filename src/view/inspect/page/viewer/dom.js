// All elements are made here: text becomes text nodes, never markup.
{
  const SVG = 'http://www.w3.org/2000/svg';
  const FONT = 'Helvetica, Arial, sans-serif';  // of pictures

  // A function is a listener ('onclick'), `css` sets properties one by one (the
  // page's policy forbids style attributes), null and false leave a property out.
  function fill(node, properties, children) {
    for (const [name, value] of Object.entries(properties || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === 'function') {
        node.addEventListener(name.slice(2), value);
      } else if (name === 'css') {
        for (const [key, part] of Object.entries(value)) {
          node.style.setProperty(key, part);
        }
      } else {
        node.setAttribute(name, value === true ? '' : String(value));
      }
    }
    return append(node, children);
  }

  // Lists may be nested; null and false leave a child out.
  function append(node, children) {
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined && child !== false) node.append(child);
    }
    return node;
  }

  // Replaces the node's children with these.
  function put(node, ...children) {
    node.replaceChildren();
    return append(node, children);
  }

  // A <select> whose choices are [value, text].
  function choice(properties, value, choices, chosen) {
    const options = choices.map(([key, text]) =>
        make('option', {value: key, selected: String(key) === String(value)}, text));
    return make('select', {
      ...properties, onchange: event => chosen(event.target.value),
    }, options);
  }

  function make(name, properties, ...children) {
    return fill(document.createElement(name), properties, children);
  }

  function makeSvg(name, properties, ...children) {
    return fill(document.createElementNS(SVG, name), properties, children);
  }

  // What a label names.
  const field = (id, label, ...controls) =>
      make('span', {class: 'field'}, make('label', {for: id}, label), controls);

  const button = (id, text, pressed, more) =>
      make('button', {type: 'button', id, ...more, onclick: pressed}, text);

  // A button that is on or off, and says so to a screen reader as well.
  function toggle(properties, on, text, pressed) {
    return make('button', {
      type: 'button', 'aria-pressed': String(on), ...properties, onclick: pressed,
    }, text);
  }

  // A colour of the page's theme.
  const colour = name =>
      getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Words in a picture.
  const svgText = (x, y, words, more) => makeSvg('text', {
    x, y, 'font-family': FONT, 'font-size': 11, fill: colour('--ink'), ...more}, words);

  // -> Promise of the time after the next frame.
  const painted = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));

  headwise.dom = {
    make, makeSvg, put, choice, field, button, toggle, colour, svgText, painted, FONT,
  };
}
