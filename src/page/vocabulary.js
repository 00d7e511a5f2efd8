import { callApi } from './session.js'

/**
 * @typedef {{ label: string, tone: import('./parts.js').Level, feeds: string[], sentences: string[] }} Kind
 */

/**
 * What a watch says: its name in files, its place in JSON, its label, its values.
 * @typedef {{ column: string, pointer: string, label: string,
 *   schema: { type: string, minimum?: number, maximum?: number, enum?: string[], format?: string } }} Field
 * A term: for whom a fare is.
 * @typedef {Field & { usual: string | number, words: [string, string] | null }} Term
 * @typedef {Field & { hint: string, default: string | null }} Setting
 */

/**
 * The texts of codes, which arrive before the first view is drawn.
 * @typedef {{ kinds: Record<string, Kind>, states: Record<string, { label: string, sentences: string[] }>, terms: Term[], settings: Setting[] }
 *   & Record<'beliefs' | 'legs' | 'notes' | 'reasons' | 'statuses' | 'hidden' | 'checks' | 'incidents', Record<string, string>>} Texts
 */
export const vocabulary = /** @type {Texts} */ ({})

export async function loadVocabulary() {
  Object.assign(vocabulary, await callApi('/vocabulary'))
}

/** The value of a field in a watch; undefined if it has none. @param {object | undefined} watch @param {Field} field @returns {string | number | null | undefined} */
export function fieldOf(watch, { pointer }) {
  const [, ...path] = pointer.split('/')
  return /** @type {string | number | null | undefined} */ (
    path.reduce((at, name) => Object(at)[name], /** @type {unknown} */ (watch))
  )
}

/** The value of a term in a question. @param {object | undefined} question @param {Term} term @returns {string | number} */
export function termOf(question, term) {
  return fieldOf(question, term) ?? term.usual
}

/** For whom a fare is: "1 resident child, 2 adults". @param {object} question */
export function termsText(question) {
  const parts = vocabulary.terms.flatMap((term) => {
    const value = termOf(question, term)
    if (term.words === null) return value === term.usual ? [] : [value]
    return value === 0 ? [] : [`${value} ${term.words[value === 1 ? 0 : 1]}`]
  })
  return parts.join(', ')
}
