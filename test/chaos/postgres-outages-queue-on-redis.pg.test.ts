import { describe, it } from 'vitest'
import { hasRedisServer } from '../support/redis-tier.ts'
import { describePostgresOutages } from './postgres-outages.ts'

if (hasRedisServer()) describePostgresOutages('redis')
else describe('an outage of PostgreSQL', () => it.skip('with the queue on redis'))
