import path from 'node:path'
import { expect, it } from 'vitest'
import { hasPrometheus, promtool } from '../support/promtool.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../grafana/prometheus')

it.runIf(hasPrometheus())('the alerts fire and stay silent as alerts.test.yml expects', () => {
  const { exit, output } = promtool(['test', 'rules', 'alerts.test.yml'], { cwd: FOLDER })

  expect(exit, output).toBe(0)
})
