import htm from 'htm'
import { h } from 'preact'

/** @typedef {{ bind: (create: typeof h) => (strings: TemplateStringsArray, ...values: unknown[]) => import('preact').VNode }} Bound */

/** Tagged template for elements. All inserted values are text or elements, never markup. */
export const html = /** @type {Bound} */ (/** @type {unknown} */ (htm)).bind(h)
