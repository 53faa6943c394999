// Tokens are untrusted text: characters that are invisible or change the direction of
// text are shown as a symbol or as their code point; the rest is isolated.
{
  const INVISIBLE = new RegExp('[\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160' +
      '\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f' +
      '\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\u{e0000}-\\u{e0fff}]', 'u');
  const RIGHT_TO_LEFT = new RegExp('[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc' +
      '\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]', 'u');
  const LONGEST = 24;

  function symbol(character) {
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
    if (INVISIBLE.test(character)) {
      return '\u27e8U+' + code.toString(16).toUpperCase().padStart(4, '0') + '\u27e9';
    }
    return code === 0xa0 ? '\u237d' : character;
  }

  // The token with all its characters visible.
  function visible(text) {
    const shown = Array.from(text, symbol).join('');
    return shown.replace(/^ +| +$/g, spaces => '\u2423'.repeat(spaces.length));
  }

  function short(text, longest = LONGEST) {
    const shown = Array.from(visible(text));
    return shown.length <= longest ? shown.join('') :
        shown.slice(0, longest - 1).join('') + '\u2026';
  }

  // <bdi> keeps right-to-left letters from reordering the text next to them.
  function node(text, full) {
    const shown = full ? visible(text) : short(text);
    return headwise.dom.make('bdi', {
      class: 'token', title: shown === text ? null : visible(text),
    }, shown);
  }

  // The same for the middle of a plain sentence, between isolates.
  function isolated(text) {
    const shown = visible(text);
    return RIGHT_TO_LEFT.test(shown) ? '\u2066' + shown + '\u2069' : shown;
  }

  headwise.tokens = {visible, short, node, isolated};
}
