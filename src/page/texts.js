import { deliveries } from './texts/deliveries.js'
import { network } from './texts/network.js'
import { records } from './texts/records.js'
import { shell } from './texts/shell.js'
import { watches } from './texts/watches.js'
import { work } from './texts/work.js'

/** The texts by codes, those with values in them, and those of several places. Another text stands where it is shown. */
export const texts = { ...shell, ...records, ...network, ...work, ...watches, ...deliveries }

/**
 * The text of a code that the API gave; the code in plain letters if the page does not know it.
 * @param {object} known texts, or what has them as labels, by code
 * @param {string | null | undefined} code
 * @returns {string}
 */
export function textOf(known, code) {
  const found = /** @type {Record<string, string & { label?: string }>} */ (known)[code ?? '']
  return found?.label ?? found ?? code?.replaceAll('_', ' ') ?? ''
}
