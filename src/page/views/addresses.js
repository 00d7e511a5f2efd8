import { useState } from 'preact/hooks'
import { onSubmit, typed, useAction, useResource } from '../hooks.js'
import { html } from '../html.js'
import { Action, Failure, Loaded, Select } from '../parts.js'
import { callApi, readAll } from '../session.js'
import { texts } from '../texts.js'

/** The e-mail addresses that an operator allows a reseller. */
export function AddressesPanel() {
  const resellers = useResource(() => readAll('/resellers'), [])
  const [chosen, setChosen] = useState('')
  const t = texts.addresses
  return html`<${Loaded} of=${resellers}>${(/** @type {{ name: string }[]} */ items) => {
    const name = chosen || items[0]?.name
    return html`<section class="panel"><h2>${t.title}</h2>
      ${
        name !== undefined &&
        html`<${Select} label=${t.reseller} value=${name} onChoose=${setChosen} options=${items.map((one) => [one.name, one.name])} />
        <${AddressesOf} key=${name} reseller=${name} />`
      }
    </section>`
  }}<//>`
}

/** @param {{ reseller: string }} props */
function AddressesOf({ reseller }) {
  const path = `/resellers/${encodeURIComponent(reseller)}/addresses`
  const allowed = useResource((signal) => callApi(path, { signal }), [path])
  const [address, setAddress] = useState('')
  const { busy, error, run } = useAction()
  const t = texts.addresses
  const send = (/** @type {string} */ to, /** @type {string} */ method) =>
    run(async () => {
      await callApi(to, { method, body: { address: address.trim() } })
      setAddress('')
      allowed.reload()
    })
  const allow = () => send(path, 'PUT')
  const disallow = () => confirm(t.ask(address)) && send(`${path}/disallow`, 'POST')
  return html`<${Loaded} of=${allowed}>${AddressList}<//>
    <form class="toolbar" onSubmit=${onSubmit(() => address !== '' && allow())}>
      <label>${t.address} <input value=${address} spellcheck=${false} onInput=${typed(setAddress)} /></label>
      <${Action} label=${t.allow} busy=${busy} disabled=${address === ''} onClick=${allow} />
      <${Action} label=${t.disallow} kind="danger" busy=${busy} disabled=${address === ''} onClick=${disallow} />
    </form>
    ${error && html`<${Failure} error=${error} />`}`
}

/** @param {{ items: { address: string }[] }} allowed */
function AddressList({ items }) {
  if (items.length === 0) return html`<p>${texts.addresses.none}</p>`
  return html`<ul class="plain-list">
    ${items.map(({ address }) => html`<li><code>${address}</code></li>`)}
  </ul>`
}

/** What a reseller may have messages sent to. */
export function OwnAddresses() {
  const allowed = useResource((signal) => callApi('/own-addresses', { signal }), [])
  return html`<details class="panel"><summary>${texts.addresses.own}</summary>
    <${Loaded} of=${allowed}>${AddressList}<//>
  </details>`
}
