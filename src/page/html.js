import htm from 'htm'
import { h } from 'preact'

/** Tagged template for elements. All inserted values are text or elements, never markup. */
export const html = /** @type {any} */ (htm).bind(h)
