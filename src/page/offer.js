import { eachText } from './describe.js'
import { html } from './html.js'
import { texts } from './texts.js'

/**
 * Who sells the flight of a leg, and what each passenger costs. An address of the upstream is a link only if it is
 * https; nothing reads it.
 * @param {{ leg: any }} props
 */
export function Offer({ leg }) {
  const site = leg?.flight?.site
  const each = eachText(leg?.passengerPrices)
  if (!site && each === '') return null
  const name = site?.name ?? site?.id
  const url = site?.url ?? ''
  return html`<span class="muted">${
    site &&
    html`${texts.soldBy} ${
      url.startsWith('https://')
        ? html`<a href=${url} rel="noreferrer" target="_blank">${name ?? url}</a>`
        : html`${name} ${url}`
    }`
  }${site && each !== '' ? ', ' : ''}${each}</span>`
}
