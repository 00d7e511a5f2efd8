/**
 * A cell that begins like a formula would run in a spreadsheet. In CSV such a text is written behind an
 * apostrophe, which spreadsheets do not show and reading takes away again; a text that begins with an apostrophe
 * gets a second one, so that nothing is lost.
 */
const FORMULA = /^[=+\-@＝＋－＠']/
const ESCAPED = /^'(?=[=+\-@＝＋－＠'])/

export function escapeFormula(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

export function unescapeFormula(text: string): string {
  return text.replace(ESCAPED, '')
}
