/** @import { SavedWatches } from '../api-types.ts' */
import { useState } from 'preact/hooks'
import { linkTo } from '../hooks.js'
import { Badge, FaultList, Field, Form, html } from '../parts.js'
import { callApi, ProblemError } from '../session.js'
import { texts } from '../texts.js'

const t = texts.import

/** Imports a CSV file that is dropped or chosen: first shows what it would change. @param {{ list: string }} props */
export function ImportPanel({ list }) {
  const [plan, setPlan] = useState(/** @type {SavedWatches | undefined} */ (undefined))
  const forget = () => setPlan(undefined)
  const send = async (
    /** @type {Record<string, string>} */ { name = '' },
    /** @type {HTMLFormElement} */ form,
  ) => {
    const file = /** @type {File} */ (new FormData(form).get('file'))
    const csv = await file.arrayBuffer().catch(() => {
      forget()
      throw new ProblemError(0, { detail: 'The file could not be read. Choose it again.' })
    })
    const answer = await callApi(
      `/watch-lists/${encodeURIComponent(name)}/watches?createList=true&dryRun=${plan === undefined}`,
      { method: 'POST', csv },
    )
    if (plan === undefined) return setPlan(answer)
    forget()
    form.reset()
    location.hash = linkTo('watches', name)
  }
  return html`<${Form} kind="drop" label=${plan ? 'Import' : 'Preview'} disabled=${plan && plan.added + plan.changed === 0} onType=${forget} send=${send}>
    <${Field} label="Drop a CSV file of watches here, or choose one" name="file" type="file" accept=".csv,text/csv" required />
    <${Field} label="Into the list" name="name" defaultValue=${list} required />
    ${plan && html`<${Plan} plan=${plan} />`}
  <//>`
}

/** What an import would do. @param {{ plan: SavedWatches }} props */
function Plan({ plan }) {
  const { added, changed, cleared, ended, warnings } = plan
  const warn = (/** @type {number} */ n, /** @type {string} */ text) =>
    n > 0 && html`<p><${Badge} level="warn">${text}<//></p>`
  return html`<div role="status">
    <p>${added + changed === 0 ? 'The file changes nothing.' : html`<${Badge} level="good">${t.plan(plan)}<//>`}</p>
    ${warn(cleared, t.cleared(cleared))} ${warn(ended, t.ended(ended))} ${warn(warnings.length, 'Doubtful flights, which are imported all the same:')}
    <${FaultList} faults=${warnings} />
  </div>`
}
