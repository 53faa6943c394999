// Colours of attention weights. Each ramp is uniform in lightness, so that it works in
// grey too. The square root of the attention weight picks the colour: most are small.
{
  const RAMPS = {
    // The default, and the ramp of the pictures (heat_colour.cc); a test compares them.
    viridis: ['#440154', '#443983', '#31688e', '#21918c', '#35b779', '#90d743', '#fde725'],
    cividis: ['#00224e', '#2a3f6d', '#575d6d', '#7d7c78', '#a59c74', '#d2c060', '#fee838'],
    ink: {
      light: ['#fdfdfb', '#d5e5e8', '#9cc5d0', '#5a9cb3', '#2b6f92', '#17456b', '#0b1f40'],
      dark: ['#15181d', '#18304a', '#1d5068', '#2c7a7c', '#63a676', '#b3cf75', '#fbf3a0'],
    },
  };
  // From "B is larger" over "equal" to "A is larger".
  const DIVERGING = {
    light: ['#6b2c05', '#b35806', '#f1a340', '#fbe0ba', '#fdfdfb', '#c6dcec', '#6ea6cd',
            '#2667a6', '#08306b'],
    dark: ['#ffd9a0', '#f0a04b', '#a9611b', '#4f3116', '#15181d', '#16344f', '#2a6ea6',
           '#6fb0e6', '#cfe8ff'],
  };
  const PATTERNS = {  // background, lines
    light: {masked: ['#f0efec', '#b9b5ac'], empty: ['#f0efec', '#8f8a80'],
            pending: ['#f6f5f2', '#dedbd4']},
    dark: {masked: ['#23262c', '#4d535d'], empty: ['#23262c', '#757c88'],
           pending: ['#1b1e24', '#2e323a']},
  };
  const SHADES = 256;

  const channels = text => [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));
  // A pixel as ImageData holds it, read as a little-endian number.
  const pixel = ([red, green, blue]) =>
      (255 << 24 | blue << 16 | green << 8 | red) >>> 0;

  function ramp(stops) {
    const colours = stops.map(channels);
    const table = [];
    for (let n = 0; n < SHADES; ++n) {
      const x = n / (SHADES - 1) * (colours.length - 1);
      const low = Math.min(Math.floor(x), colours.length - 2);
      table.push(colours[low].map((value, c) =>
          Math.round(value + (x - low) * (colours[low + 1][c] - value))));
    }
    return table;
  }

  const clamped = part => Math.max(0, Math.min(SHADES - 1, Math.round(part * (SHADES - 1))));
  const made = new Map();

  // {shades: [r, g, b] each, pixels: Uint32Array, patterns,
  //  index(value, limit): the shade, the last one at `limit`}
  function palette(diverging, chosen = headwise.state.get().palette) {
    const theme = headwise.theme.current();
    const name = diverging ? 'diverging' : chosen;
    const key = name + ' ' + theme;
    if (!made.has(key)) {
      const stops = diverging ? DIVERGING[theme] : RAMPS[name][theme] || RAMPS[name];
      const shades = ramp(stops);
      made.set(key, {
        shades,
        pixels: Uint32Array.from(shades, pixel),
        patterns: Object.fromEntries(Object.entries(PATTERNS[theme]).map(
            ([kind, pair]) => [kind, pair.map(text => pixel(channels(text)))])),
        patternText: PATTERNS[theme],
        index: diverging ?
            (value, limit) => clamped((Math.sign(value) *
                Math.sqrt(Math.abs(value) / limit) + 1) / 2) :
            (value, limit) => clamped(Math.sqrt(value / limit)),
      });
    }
    return made.get(key);
  }

  // Relative luminance, WCAG 2.1.
  function luminance([red, green, blue]) {
    const linear = [red, green, blue].map(value => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  }

  // Black or white, whichever is easier to read on this colour.
  const inkOn = colour => luminance(colour) > 0.179 ? '#000000' : '#ffffff';

  // Is more attention brighter, not darker?
  function brighter() {
    const {shades} = palette(false);
    return luminance(shades[SHADES - 1]) > luminance(shades[0]);
  }

  headwise.palette = {get: palette, inkOn, brighter, names: Object.keys(RAMPS)};
}
