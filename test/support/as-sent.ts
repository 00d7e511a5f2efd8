/** A value as the API sends it: its instants are texts. */
export function asSent(value: object) {
  return JSON.parse(JSON.stringify(value))
}
