// How numbers are written.
{
  const MINUS = '\u2212';
  const signed = text => text.replace('-', MINUS);

  // Three digits, as far as they say something: 0.132, 2.41, 318, 1.2e-5.
  function text(value) {
    if (value === null || value === undefined) return '\u2013';
    if (!Number.isFinite(value)) {
      return Number.isNaN(value) ? 'NaN' : value < 0 ? MINUS + '\u221e' : '\u221e';
    }
    const size = Math.abs(value);
    if (size === 0) return '0';
    if (size < 1e-4 || size >= 1e6) return signed(value.toExponential(1));
    if (size >= 100) return signed(value.toFixed(0));
    return signed(value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.01 ? 3 : 4));
  }

  // In a cell of the matrix: ".13", "1".
  function cell(value) {
    return signed(value.toFixed(2)).replace(/(^|\u2212)0\./, '$1.');
  }

  // For files: six digits, which is more than the coding carries.
  const exact = value => String(Number(value.toPrecision(6)));

  headwise.numbers = {text, cell, exact};
}
