/** @import { WebhookEndpoint } from '../api-types.ts' */
import { useState } from 'preact/hooks'
import { paceOf, watchKinds } from '../describe.js'
import { typed, useResource } from '../hooks.js'
import { Form, html, loaded } from '../parts.js'
import { callApi, ProblemError, readAll } from '../session.js'
import { textOf, texts } from '../texts.js'
import { vocabulary } from '../vocabulary.js'

const t = texts.endpointForm

/**
 * The settings of an endpoint: which records it receives, and when.
 * @param {{ endpoint: WebhookEndpoint, canWatch: boolean, ofOperators: boolean, onChanged: () => void }} props
 */
export function EndpointForm({ endpoint, canWatch, ofOperators, onChanged }) {
  const [isOpen, setOpen] = useState(false)
  const lists = useResource(
    () => (isOpen && !ofOperators ? readAll('/watch-lists') : Promise.resolve([])),
    [isOpen],
  )
  return html`<details class="panel" onToggle=${(/** @type {{ currentTarget: HTMLDetailsElement }} */ e) => setOpen(e.currentTarget.open)}>
    <summary>${t.title}</summary>
    ${
      isOpen &&
      loaded(
        lists,
        (items) => html`
        <${Settings} endpoint=${endpoint} canWatch=${canWatch} ofOperators=${ofOperators} onChanged=${onChanged}
          lists=${[...new Set([...items.map(({ name }) => name), ...(endpoint.lists ?? [])])]} />`,
      )
    }
  </details>`
}

/** The values of the form, of an endpoint. @param {WebhookEndpoint} endpoint */
function valuesOf({ description, kinds, reasons, lists, rules, digest, quietHours, template }) {
  const daily = digest?.type === 'daily' ? digest : undefined
  return {
    description,
    target: '',
    template: JSON.stringify(template, null, 2),
    headers: '',
    dropsHeaders: false,
    kinds: kinds ?? [],
    reasons: reasons ?? [],
    lists: lists ?? [],
    soldOut: rules?.soldOut === true,
    bookable: rules?.bookable === true,
    amount: rules?.priceBelow?.amount ?? '',
    currency: rules?.priceBelow?.currency ?? '',
    digest: paceOf(digest),
    hour: daily?.hour ?? 8,
    isQuiet: quietHours !== null,
    from: quietHours?.from ?? 22,
    to: quietHours?.to ?? 7,
    zone: daily?.zone ?? quietHours?.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  }
}

/** @typedef {ReturnType<typeof valuesOf>} Values */

/** What is sent to the API. Nothing chosen is no filter. @param {Values} values @param {string} format */
function bodyOf(values, format) {
  const { description, target, kinds, reasons, lists, soldOut, bookable } = values
  const { amount, currency, digest, hour, zone, headers, dropsHeaders } = values
  const { isQuiet, from, to } = values
  const chosen = (/** @type {readonly string[]} */ names) => (names.length === 0 ? null : names)
  const rules = {
    ...(soldOut ? { soldOut: true } : {}),
    ...(bookable ? { bookable: true } : {}),
    ...(amount.trim() === ''
      ? {}
      : { priceBelow: { amount: amount.trim(), currency: currency.trim().toUpperCase() } }),
  }
  const joined =
    digest === 'daily' ? { type: 'daily', hour, zone } : { type: 'interval', every: digest }
  const times = digest === 'now' ? null : joined
  return {
    description,
    ...(target.trim() === '' ? {} : { target: target.trim() }),
    kinds: chosen(kinds),
    reasons: chosen(reasons),
    lists: chosen(lists),
    rules: Object.keys(rules).length === 0 ? null : rules,
    ...(INSTANT.includes(format)
      ? {}
      : { digest: times, quietHours: isQuiet ? { from, to, zone } : null }),
    ...(format === 'json' ? { template: templateOf(values.template) } : {}),
    ...(dropsHeaders
      ? { headers: null }
      : headers.trim() === ''
        ? {}
        : { headers: headersOf(headers) }),
  }
}

/** The formats that send each record by itself. */
const INSTANT = ['webhook', 'json']

/** @param {string} text */
function templateOf(text) {
  try {
    return JSON.parse(text)
  } catch {
    throw new ProblemError(0, { detail: t.badTemplate })
  }
}

/** @param {string} text lines of a name, a colon and a value */
function headersOf(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':')
      return [name.trim(), value.join(':').trim()]
    }),
  )
}

/** @param {{ endpoint: WebhookEndpoint, lists: string[], canWatch: boolean, ofOperators: boolean, onChanged: () => void }} props */
function Settings({ endpoint, lists, canWatch, ofOperators, onChanged }) {
  const [values, setValues] = useState(valuesOf(endpoint))
  const set = (/** @type {Partial<Values>} */ given) => setValues((last) => ({ ...last, ...given }))
  const put = (/** @type {keyof Values} */ name) => typed((value) => set({ [name]: value }))
  const save = async () => {
    const body = bodyOf(values, endpoint.format)
    setValues(
      valuesOf(await callApi(`/webhook-endpoints/${endpoint.id}`, { method: 'PATCH', body })),
    )
    onChanged()
    return t.saved
  }
  const text = (/** @type {'description' | 'target'} */ name) =>
    html`<label>${t[name]} <input value=${values[name]} spellcheck=${false} onInput=${put(name)} /></label>`
  const area = (/** @type {'template' | 'headers'} */ name, hint = '') =>
    html`<label>${t[name]} <textarea rows="3" spellcheck=${false} placeholder=${hint} value=${values[name]} onInput=${put(name)}></textarea></label>`
  const choices = (
    /** @type {'kinds' | 'reasons' | 'lists'} */ name,
    /** @type {readonly string[]} */ names,
    /** @type {object | undefined} */ known = undefined,
  ) =>
    html`<${Choices} legend=${t[name]} names=${names} known=${known} chosen=${values[name]} onChange=${(/** @type {string[]} */ chosen) => set({ [name]: chosen })} />`
  return html`<${Form} kind="watch-form settings" label=${texts.save} disabled=${!canWatch} send=${save}><fieldset disabled=${!canWatch}>
    ${text('description')} ${text('target')}
    ${
      !ofOperators &&
      html`${choices('kinds', watchKinds(), vocabulary.kinds)} ${choices('reasons', Object.keys(vocabulary.reasons), vocabulary.reasons)} ${lists.length > 0 && choices('lists', lists)}
    <${Rules} values=${values} set=${set} put=${put} />`
    }
    ${!INSTANT.includes(endpoint.format) && html`<${DigestFields} values=${values} set=${set} put=${put} />`}
    ${endpoint.format === 'json' && area('template')}
    ${endpoint.format !== 'email' && area('headers', t.headersHint)}
    ${endpoint.headerNames.length > 0 && html`<${Check} label=${t.dropHeaders(endpoint.headerNames.join(', '))} checked=${values.dropsHeaders} onChange=${() => set({ dropsHeaders: !values.dropsHeaders })} />`}
  </fieldset><//>`
}

/** @param {{ legend: string, names: readonly string[], known?: object, chosen: readonly string[], onChange: (chosen: string[]) => void }} props */
function Choices({ legend, names, known, chosen, onChange }) {
  const toggle = (/** @type {string} */ name) =>
    onChange(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name])
  return html`<fieldset class="choices"><legend>${legend}</legend>
    ${names.map((name) => html`<${Check} label=${known ? textOf(known, name) : name} checked=${chosen.includes(name)} onChange=${() => toggle(name)} />`)}
    <p class="muted small">${chosen.length === 0 && t.none}</p>
  </fieldset>`
}

/** @param {{ label: string, checked: boolean, onChange: () => void }} props */
function Check({ label, checked, onChange }) {
  return html`<label><input type="checkbox" checked=${checked} onChange=${onChange} /> ${label}</label>`
}

/** @typedef {{ values: Values, set: (given: Partial<Values>) => void, put: (name: keyof Values) => ReturnType<typeof typed> }} FieldProps */

/** @param {FieldProps} props */
function Rules({ values, set, put }) {
  return html`<fieldset class="choices"><legend>${t.rules}</legend>
    <${Check} label=${t.soldOut} checked=${values.soldOut} onChange=${() => set({ soldOut: !values.soldOut })} />
    <${Check} label=${t.bookable} checked=${values.bookable} onChange=${() => set({ bookable: !values.bookable })} />
    <label>${t.priceBelow}
      <input class="short" inputmode="decimal" placeholder=${t.amountHint} value=${values.amount} onInput=${put('amount')} />
      <input class="short" aria-label=${t.currency} placeholder=${t.currencyHint} maxlength="3" value=${values.currency} onInput=${put('currency')} /></label>
  </fieldset>`
}

/** @param {FieldProps} props */
function DigestFields({ values, set, put }) {
  const hour = (/** @type {'hour' | 'from' | 'to'} */ name) =>
    html`<label>${t[name]} <input class="short" type="number" min="0" max="23" value=${values[name]} onInput=${typed((text) => set({ [name]: Number(text) }))} /></label>`
  return html`<fieldset class="choices"><legend>${t.digest}</legend>
    <select aria-label=${t.digest} value=${values.digest} onChange=${put('digest')}>
      ${Object.entries(t.digests).map(([value, label]) => html`<option value=${value}>${label}</option>`)}
    </select>
    ${values.digest === 'daily' && hour('hour')}
    <${Check} label=${t.quiet} checked=${values.isQuiet} onChange=${() => set({ isQuiet: !values.isQuiet })} />
    ${values.isQuiet && html`${hour('from')} ${hour('to')}`}
    ${
      (values.isQuiet || values.digest === 'daily') &&
      html`<label>${t.zone} <input value=${values.zone} onInput=${put('zone')} /></label>`
    }
  </fieldset>`
}
