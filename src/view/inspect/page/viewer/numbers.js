// How numbers are written.
{
  const MINUS = '\u2212';
  const MOST_DECIMALS = 20;
  const LEAST = 5e-4;  // of weights and statistics; digits below it are of no use
  const OF_ANY_SIZE = new Set(['norm', 'gradient', 'integrated', 'integrated-by-layer']);
  const signed = text => text.replaceAll('-', MINUS);  // also in an exponent

  // Up to three significant digits: 0.132, 2.41, 318, 1.2e-5.
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

  // In a cell of the matrix: ".13", "1", "12.3".
  function cell(value) {
    const size = Math.abs(value);
    return signed(value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)).replace(/(^|\u2212)0\./, '$1.');
  }

  // Decimals of a number with this error: its last digit is the first that the error
  // affects.
  const decimals = error =>
      Math.max(0, Math.min(MOST_DECIMALS, Math.ceil(-Math.log10(error) - 1e-9)));

  const rounded = (value, error) =>
      error > 0 ? Number(value.toFixed(decimals(error))) : value;

  // "0.1318" for 0.13184 with an error of 0.0004. Without an error: as text().
  function known(value, error) {
    if (!(error > 0) || !Number.isFinite(value)) return text(value);
    const shown = rounded(value, error);
    if (shown === 0) return '0';
    const size = Math.floor(Math.log10(Math.abs(shown)));
    return signed(size < -4 ? shown.toExponential(Math.max(0, decimals(error) + size)) :
        shown.toFixed(decimals(error)));
  }

  // "<0.001" in place of a weight or statistic that is too small to matter, or ''.
  const tiny = value => !(value !== 0 && Math.abs(value) < LEAST) ? '' :
      value > 0 ? '<0.001' : '>\u22120.001';

  // A statistic with its error, if any.
  const statistic = (name, value, error) =>
      !OF_ANY_SIZE.has(name) && value !== null && tiny(value) || known(value, error);

  // The error itself, rounded up: "0.0005".
  function bound(error) {
    const places = decimals(error);
    return (Math.ceil(error * 10 ** places - 1e-6) / 10 ** places).toFixed(places);
  }

  // For files: at most six digits.
  const exact = value => String(Number(value.toPrecision(6)));

  headwise.numbers = {text, cell, known, tiny, statistic, bound, rounded, exact};
}
