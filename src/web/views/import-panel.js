import { useState } from 'preact/hooks'
import { html } from '../html.js'
import { Action, Badge, Failure } from '../parts.js'
import { callApi } from '../session.js'
import { texts } from '../texts.js'

/**
 * Imports a CSV file that is dropped or chosen: first shows what it would change, then asks.
 * @param {{ lists: any[], current: string | undefined, onImported: () => void }} props
 */
export function ImportPanel({ current, onImported }) {
  const [file, setFile] = useState(
    /** @type {{ name: string, csv: string, takenAt: number } | undefined} */ (undefined),
  )
  const [over, setOver] = useState(false)
  const take = async (/** @type {File | undefined} */ given) => {
    setOver(false)
    if (given !== undefined)
      setFile({ name: given.name, csv: await given.text(), takenAt: Date.now() })
  }
  const drop = (/** @type {DragEvent} */ event) => {
    event.preventDefault()
    void take(event.dataTransfer?.files[0])
  }
  const drag = (/** @type {DragEvent} */ event) => {
    event.preventDefault()
    setOver(true)
  }
  return html`<section class="drop ${over ? 'over' : ''}" onDrop=${drop} onDragOver=${drag} onDragLeave=${() => setOver(false)}>
    <label>Drop a CSV file of watches here, or choose one
      <input type="file" accept=".csv,text/csv" onChange=${(/** @type {any} */ e) => void take(e.currentTarget.files[0])} /></label>
    ${
      file &&
      html`<${Preview} key=${file.takenAt} file=${file} list=${current ?? 'watches'}
      onEnd=${(/** @type {boolean} */ imported) => {
        setFile(undefined)
        if (imported) onImported()
      }} />`
    }
  </section>`
}

/** @param {{ file: { name: string, csv: string }, list: string, onEnd: (imported: boolean) => void }} props */
function Preview({ file, list, onEnd }) {
  const [name, setName] = useState(list)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState(/** @type {any} */ (undefined))
  const [plan, setPlan] = useState(/** @type {any} */ (undefined))
  const send = (/** @type {boolean} */ dryRun) => {
    setBusy(true)
    setError(undefined)
    callApi(`/watch-lists/${encodeURIComponent(name)}/watches?createList=true&dryRun=${dryRun}`, {
      method: 'POST',
      csv: file.csv,
    })
      .then((answer) => (dryRun ? setPlan(answer) : onEnd(true)), setError)
      .finally(() => setBusy(false))
  }
  return html`<div class="preview">
    <label>Into the list <input value=${name} onInput=${(/** @type {any} */ e) => {
      setName(e.currentTarget.value)
      setPlan(undefined)
    }} /></label>
    ${error && html`<${Failure} error=${error} /><ul class="plain-list">${(error.problem?.errors ?? []).map((/** @type {any} */ fault) => html`<li>${fault.detail ?? fault.message}</li>`)}</ul>`}
    ${plan && html`<p role="status"><${Badge} level="good">${texts.count(plan.added, 'watch', 'watches')} would be added, ${plan.changed} changed, ${plan.unchanged} left as they are<//></p>`}
    <div class="buttons">
      ${
        plan
          ? html`<${Action} label="Import" kind="primary" busy=${busy} onClick=${() => send(false)} />`
          : html`<${Action} label=${`Preview ${file.name}`} kind="primary" busy=${busy} onClick=${() => send(true)} />`
      }
      <${Action} label="Cancel" busy=${busy} onClick=${() => onEnd(false)} />
    </div>
  </div>`
}
