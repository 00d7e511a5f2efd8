/**
 * @import { AllowedAddressPage, ChosenRoutes, WebhookEndpoint } from '../api-types.ts'
 * @import { Caller } from '../session.js'
 */
import { useEffect, useState } from 'preact/hooks'
import { endpointName, endpointState } from '../describe.js'
import { linkTo, typed, useAnswer, useResource } from '../hooks.js'
import { Action, Badge, Empty, Form, html, loaded, Select } from '../parts.js'
import { callApi, readAll, showOperators } from '../session.js'
import { texts } from '../texts.js'
import { EndpointPane } from './endpoint.js'

const t = texts.endpoints

/**
 * The addresses that an operator allows, and the endpoints of a reseller or of operators.
 * @param {{ caller: Caller, path: string[] }} props
 */
export function DeliveriesView({ caller, path }) {
  const { isOperator, reseller, scopes } = caller
  const [ofOperators, setOfOperators] = useState(reseller === null)
  showOperators(ofOperators)
  useEffect(() => () => showOperators(false), [])
  const canChange = scopes.includes(ofOperators ? 'operate' : 'watch')
  return html`${isOperator && html`<${AddressesPanel} />`}
    ${
      isOperator &&
      reseller !== null &&
      html`<${Select} label=${t.of} value=${ofOperators ? '' : reseller} options=${[
        [reseller, reseller],
        ['', t.operators],
      ]} onChoose=${(/** @type {string} */ name) => setOfOperators(name === '')} />`
    }
    <${Endpoints} key=${ofOperators} canWatch=${canChange} ofOperators=${ofOperators} path=${path} />`
}

/**
 * Endpoints: whether they work, and one of them with its actions, settings and log.
 * @param {{ canWatch: boolean, ofOperators: boolean, path: string[] }} props
 */
function Endpoints({ canWatch, ofOperators, path: [id] }) {
  const endpoints = useAnswer('/webhook-endpoints', 10_000)
  // Kept here, because the endpoint that it belongs to may have just been made.
  const [secret, setSecret] = useState({ of: '', text: '' })
  const keepSecret = (/** @type {string} */ of, /** @type {string} */ text) =>
    setSecret({ of, text })
  return loaded(endpoints, ({ items }) => {
    const current = items.find((endpoint) => endpoint.id === id) ?? items[0]
    return html`<div class="split endpoints ${id === undefined ? '' : 'one'}">
      <${EndpointList} endpoints=${items} current=${current} />
      ${canWatch && html`<aside><${NewEndpoint} onMade=${keepSecret} onChanged=${endpoints.reload} />${!ofOperators && html`<${RoutesPanel} /><${OwnAddresses} />`}</aside>`}
      ${
        current === undefined
          ? html`<${Empty} texts=${[t.empty, ofOperators ? t.operatorsHelp : t.emptyHelp]} />`
          : html`<${EndpointPane} key=${current.id} endpoint=${current} canWatch=${canWatch} ofOperators=${ofOperators} onChanged=${endpoints.reload}
            secret=${secret.of === current.id ? secret.text : ''} onSecret=${keepSecret} />`
      }
    </div>`
  })
}

/** @param {{ endpoints: readonly WebhookEndpoint[], current: WebhookEndpoint | undefined }} props */
function EndpointList({ endpoints, current }) {
  return html`<nav aria-label=${t.label} class="lists">
    ${endpoints.map((endpoint) => {
      const { id, target, pending, dead } = endpoint
      const { level, text } = endpointState(endpoint)
      return html`<a key=${id} href=${linkTo('deliveries', id)} aria-current=${endpoint === current ? 'page' : null}>
        <strong>${endpointName(endpoint)}</strong>
        <span class="muted small">${target}</span>
        <span class="small"><${Badge} level=${level}>${text}<//></span>
        ${pending > 0 && html`<span class="muted small">${t.pending(pending)}</span>`}
        ${dead > 0 && html`<span class="muted small">${t.dead(dead)}</span>`}
      </a>`
    })}
  </nav>`
}

/** The body of a new endpoint of the format json. */
const TEMPLATE = { text: '{sentence}' }

/** The formats, each with how its addresses look. The first that fits is offered. */
const FORMATS = [
  { name: 'email', address: /^[^:/]+@/ },
  { name: 'slack', address: /\/\/hooks\.slack\.com\// },
  { name: 'teams', address: /\.(logic\.azure|powerplatform|office)\.com[:/]/ },
  { name: 'discord', address: /\/\/discord(app)?\.com\// },
  { name: 'telegram', address: /\/\/api\.telegram\.org\// },
  { name: 'ntfy', address: /\/\/ntfy\.sh\// },
  { name: 'webhook', address: /^/ },
  { name: 'json', address: /^/ },
]

/** @param {string} target */
function formatOf(target) {
  return FORMATS.find(({ address }) => address.test(target))?.name
}

/** @param {{ onMade: (id: string, secret: string) => void, onChanged: () => void }} props */
function NewEndpoint({ onMade, onChanged }) {
  const [target, setTarget] = useState('')
  const [chosen, setChosen] = useState('')
  const address = target.trim()
  const format = chosen || formatOf(address)
  const make = async () => {
    const body = { format, target: address, ...(format === 'json' ? { template: TEMPLATE } : {}) }
    const { id, secret } = await callApi('/webhook-endpoints', { method: 'POST', body })
    onMade(id, secret ?? '')
    setTarget('')
    setChosen('')
    location.hash = linkTo('deliveries', id)
    onChanged()
  }
  return html`<details class="panel"><summary>${texts.endpointForm.new}</summary>
    <${Form} kind="watch-form" label=${texts.endpointForm.add} disabled=${address === ''} send=${make}>
      <label>${texts.endpointForm.newAddress}
        <input value=${target} spellcheck=${false} onInput=${typed(setTarget)} /></label>
      <${Select} label=${t.format} value=${format} onChoose=${setChosen} options=${FORMATS.map(({ name }) => [name, name])} />
    <//>
  </details>`
}

/** Chooses the changes of routes that the feed has. */
function RoutesPanel() {
  const settings = useAnswer('/own-settings')
  return html`<details class="panel"><summary>${texts.routes.title}</summary><p class="help">${texts.routes.help}</p>
    ${loaded(settings, ({ routes }) => html`<${RoutesForm} key=${JSON.stringify(routes)} routes=${routes} onSaved=${settings.reload} />`)}
  </details>`
}

/** What is chosen, as the command line writes it. @param {ChosenRoutes} routes */
function chosenText({ countries = [], places = [], pairs = [] }) {
  const ends = pairs.map(
    ({ departure, destination, eitherDirection }) =>
      `${departure}${eitherDirection ? '=' : '-'}${destination}`,
  )
  return [...countries, ...places, ...ends].join(', ')
}

/** The codes of a route; the sign says whether it is meant in both directions. */
const PAIR = /^([A-Z0-9]{3})([-=])([A-Z0-9]{3})$/

/** @param {string} text */
function chosenOf(text) {
  const names = text.split(',').flatMap((name) => name.trim() || [])
  const pairs = names.flatMap((name) => {
    const [, departure, sign, destination] = PAIR.exec(name) ?? []
    return sign ? [{ departure, destination, eitherDirection: sign === '=' }] : []
  })
  const places = names.filter((name) => /^[A-Z0-9]{3}$/.test(name))
  const countries = names.filter((name) => !PAIR.test(name) && !places.includes(name))
  const chosen = Object.entries({ countries, places, pairs }).filter(([, some]) => some.length > 0)
  return chosen.length === 0 ? null : Object.fromEntries(chosen)
}

/** @param {{ routes: ChosenRoutes | null, onSaved: () => void }} props */
function RoutesForm({ routes, onSaved }) {
  const [text, setText] = useState(chosenText(routes ?? {}))
  const save = async () => {
    await callApi('/own-settings', { method: 'PATCH', body: { routes: chosenOf(text) } })
    onSaved()
  }
  return html`<${Form} kind="watch-form" label=${texts.save} send=${save}>
    <label>${texts.routes.chosen} <input value=${text} placeholder=${texts.routes.hint} onInput=${typed(setText)} /></label>
  <//>`
}

/** The e-mail addresses that an operator allows a reseller. */
function AddressesPanel() {
  const resellers = useResource(() => readAll('/resellers'), [])
  const [chosen, setChosen] = useState('')
  return loaded(resellers, (items) => {
    const name = chosen || items[0]?.name
    return html`<section class="panel"><h2>${texts.addresses.title}</h2>
      ${
        name !== undefined &&
        html`<${Select} label=${texts.addresses.reseller} value=${name} onChoose=${setChosen} options=${items.map((one) => [one.name, one.name])} />
        <${AddressesOf} key=${name} reseller=${name} />`
      }
    </section>`
  })
}

/** @param {{ reseller: string }} props */
function AddressesOf({ reseller }) {
  /** @type {`/resellers/${string}/addresses`} */
  const path = `/resellers/${encodeURIComponent(reseller)}/addresses`
  const allowed = useAnswer(path)
  const [address, setAddress] = useState('')
  const send = async (/** @type {string} */ to, /** @type {string} */ method) => {
    await callApi(to, { method, body: { address: address.trim() } })
    setAddress('')
    allowed.reload()
  }
  const disabled = address === ''
  const disallow = html`<${Action} label=${texts.addresses.disallow} kind="danger" disabled=${disabled} ask=${texts.addresses.ask(address)} run=${() => send(`${path}/disallow`, 'POST')} />`
  return html`${loaded(allowed, AddressList)}
    <${Form} kind="toolbar" label=${texts.addresses.allow} disabled=${disabled} send=${() => send(path, 'PUT')} more=${disallow}>
      <label>${texts.addresses.address} <input value=${address} spellcheck=${false} onInput=${typed(setAddress)} /></label>
    <//>`
}

/** @param {AllowedAddressPage} allowed */
function AddressList({ items }) {
  if (items.length === 0) return html`<p>${texts.addresses.none}</p>`
  return html`<ul class="plain-list">
    ${items.map(({ address }) => html`<li><code>${address}</code></li>`)}
  </ul>`
}

/** What a reseller may have messages sent to. */
function OwnAddresses() {
  const allowed = useAnswer('/own-addresses')
  return html`<details class="panel"><summary>${texts.addresses.own}</summary>
    ${loaded(allowed, AddressList)}
  </details>`
}
