/** @import { WebhookEndpoint } from '../api-types.ts' */
import { paceOf, watchKinds } from '../describe.js'
import { useResource } from '../hooks.js'
import { Check, Field, Form, html, loaded, Select } from '../parts.js'
import { callApi, mayChange, ProblemError, readAll, showsOperators } from '../session.js'
import { textOf, texts } from '../texts.js'
import { vocabulary } from '../vocabulary.js'

const t = texts.endpointForm

/** The formats that send each record by itself. */
const INSTANT = ['webhook', 'json']

/**
 * The settings of an endpoint: which records it receives, and when.
 * @param {{ endpoint: WebhookEndpoint }} props
 */
export function EndpointForm({ endpoint }) {
  const { id, format, description, kinds, reasons, template, headerNames } = endpoint
  const lists = useResource(
    () => (showsOperators ? Promise.resolve([]) : readAll('/watch-lists')),
    [],
  )
  const save = async (
    /** @type {Record<string, string>} */ fields,
    /** @type {HTMLFormElement} */ form,
  ) => {
    const body = bodyOf(fields, new FormData(form))
    await callApi(`/webhook-endpoints/${id}`, { method: 'PATCH', body })
    form.reset()
    return 'Saved.'
  }
  const area = (/** @type {'template' | 'headers'} */ name, /** @type {object} */ given) =>
    html`<label>${t[name]} <textarea rows="3" name=${name} spellcheck=${false} ...${given}></textarea></label>`
  return html`<details class="panel"><summary>What it receives</summary>
    <${Form} kind="watch-form settings" label=${texts.save} disabled=${!mayChange()} send=${save}><fieldset disabled=${!mayChange()}>
      <${Field} label="Name" name="description" defaultValue=${description} />
      <${Field} label="Another address (it stays if you leave this empty)" name="target" />
      ${
        !showsOperators &&
        html`<${Choices} name="kinds" names=${watchKinds()} known=${vocabulary.kinds} chosen=${kinds} />
        <${Choices} name="reasons" names=${Object.keys(vocabulary.reasons)} known=${vocabulary.reasons} chosen=${reasons} />
        ${loaded(lists, (items) => html`<${Lists} endpoint=${endpoint} names=${items.map(({ name }) => name)} />`)}
        <${Rules} rules=${endpoint.rules} />`
      }
      ${!INSTANT.includes(format) && html`<${Times} endpoint=${endpoint} />`}
      ${format === 'json' && area('template', { defaultValue: JSON.stringify(template, null, 2) })}
      ${format !== 'email' && area('headers', { placeholder: 'authorization: Bearer …' })}
      ${headerNames.length > 0 && html`<${Check} label=${t.dropHeaders(headerNames.join(', '))} name="dropsHeaders" />`}
    </fieldset><//>
  </details>`
}

/** @param {{ name: 'kinds' | 'reasons' | 'lists' | 'rules', names: readonly string[], known?: object, chosen: readonly string[] | null, children?: unknown }} props */
function Choices({ name, names, known = {}, chosen, children }) {
  return html`<fieldset class="choices"><legend>${t[name]}</legend>
    ${names.map((one) => html`<${Check} label=${textOf({ [one]: one, ...known }, one)} name=${name} value=${one} defaultChecked=${chosen?.includes(one) ?? false} />`)}
    ${children}
    <p class="muted small none">Nothing chosen: all of them.</p>
  </fieldset>`
}

/** Also those lists that were chosen and do not exist any more. @param {{ endpoint: WebhookEndpoint, names: string[] }} props */
function Lists({ endpoint: { lists }, names }) {
  const all = [...new Set([...names, ...(lists ?? [])])]
  return all.length > 0 && html`<${Choices} name="lists" names=${all} chosen=${lists} />`
}

/** @param {{ rules: WebhookEndpoint['rules'] }} props */
function Rules({ rules }) {
  const { amount, currency } = rules?.priceBelow ?? {}
  return html`<${Choices} name="rules" names=${Object.keys(t.ruleNames)} known=${t.ruleNames} chosen=${Object.keys(rules ?? {})}>
    <${Field} label="its price falls below" name="amount" class="short" inputmode="decimal" placeholder="amount" defaultValue=${amount} />
    <${Field} label="Currency" name="currency" class="short" placeholder="EUR" maxlength="3" defaultValue=${currency} />
  <//>`
}

/** When messages are sent. @param {{ endpoint: WebhookEndpoint }} props */
function Times({ endpoint: { digest, quietHours } }) {
  const daily = digest?.type === 'daily' ? digest : undefined
  const zone = daily?.zone ?? quietHours?.zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone
  const hour = (/** @type {'hour' | 'from' | 'to'} */ name, /** @type {number} */ value) =>
    html`<${Field} label=${t[name]} name=${name} class="short" type="number" min="0" max="23" defaultValue=${value} />`
  return html`<fieldset class="choices times">
    <${Select} label="Messages" name="digest" value=${paceOf(digest)} options=${Object.entries(t.digests)} />
    <span class="daily">${hour('hour', daily?.hour ?? 8)}</span>
    <${Check} label="nothing in quiet hours" name="isQuiet" defaultChecked=${quietHours !== null} />
    <span class="quiet">${hour('from', quietHours?.from ?? 22)} ${hour('to', quietHours?.to ?? 7)}</span>
    <span class="daily quiet"><${Field} label="in this time zone" name="zone" defaultValue=${zone} /></span>
  </fieldset>`
}

/**
 * What is sent to the API. Nothing chosen is no filter.
 * @param {Record<string, string>} fields
 * @param {FormData} data what has several values
 */
function bodyOf(fields, data) {
  const { description, target, amount, currency, digest, hour, from, to, zone } = fields
  const { isQuiet, template, dropsHeaders, headers } = fields
  const chosen = (/** @type {string} */ name) => (data.has(name) ? data.getAll(name) : null)
  const rules = {
    ...Object.fromEntries(data.getAll('rules').map((rule) => [rule, true])),
    ...(amount ? { priceBelow: { amount, currency: currency?.toUpperCase() } } : {}),
  }
  const joined =
    digest === 'daily'
      ? { type: 'daily', hour: Number(hour), zone }
      : { type: 'interval', every: digest }
  const hours = { from: Number(from), to: Number(to), zone }
  return {
    description,
    target: target || undefined,
    kinds: chosen('kinds'),
    reasons: chosen('reasons'),
    lists: chosen('lists'),
    rules: Object.keys(rules).length === 0 ? null : rules,
    digest: digest && (digest === 'now' ? null : joined),
    quietHours: digest && (isQuiet ? hours : null),
    template: template && templateOf(template),
    headers: dropsHeaders ? null : headers ? headersOf(headers) : undefined,
  }
}

/** @param {string} text */
function templateOf(text) {
  try {
    return JSON.parse(text)
  } catch {
    throw new ProblemError(0, { detail: 'The body is no JSON object.' })
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
