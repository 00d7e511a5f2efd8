import { callApi } from './session.js'

/**
 * @typedef {{ label: string, tone: import('./parts.js').Level, feeds: string[], sentences: string[] }} Kind
 */

/**
 * The texts of codes. They are empty until they have arrived, before the first view is drawn.
 * @type {{ kinds: Record<string, Kind>, states: Record<string, { label: string, sentences: string[] }> }
 *   & Record<'beliefs' | 'legs' | 'reasons' | 'statuses' | 'hidden' | 'checks' | 'incidents', Record<string, string>>}
 */
export const vocabulary = {
  kinds: {},
  states: {},
  beliefs: {},
  legs: {},
  reasons: {},
  statuses: {},
  hidden: {},
  checks: {},
  incidents: {},
}

export async function loadVocabulary() {
  Object.assign(vocabulary, await callApi('/vocabulary'))
}

/**
 * The first template of which all values are known, with its values.
 * @param {readonly string[]} templates
 * @param {Record<string, string | null | undefined>} values
 */
export function phrase(templates, values) {
  const isKnown = (/** @type {string} */ name) => Boolean(values[name])
  const names = (/** @type {string} */ template) =>
    [...template.matchAll(VALUE)].map(([, name = '']) => name)
  return templates
    .find((template) => names(template).every(isKnown))
    ?.replaceAll(VALUE, (_, /** @type {string} */ name) => values[name] ?? '')
}

const VALUE = /\{(\w+)\}/g
