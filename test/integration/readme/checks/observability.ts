import { context, metrics, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { expect } from 'vitest'
import type { CleanUpResult, DbClientObject } from '@svc/db'
import { run, runSibling, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { ask, type HandlerProgram } from './app-client.js'

interface Recipe extends HandlerProgram {
  readonly tidyUp: () => Promise<CleanUpResult>
}

/** Uploads and deletes under a real SDK, set up before the recipe is loaded, and asserts what was exported. */
const isTracedAndMeasured: SnippetCheck = async (program) => {
  const spans = new InMemorySpanExporter()
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }))
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  try {
    const server = await runSibling<Recipe>(program, 'server.mjs')
    const asAnn = (...request: [method: string, path: string, body?: object]) =>
      ask(server, 'user:ann', ...request)
    const file = { filename: 'a.txt', contentType: 'text/plain' }
    const begun = await asAnn('POST', '/upload', { ...file, size: 5 })
    const { object, upload } = (await begun.json()) as {
      object: DbClientObject
      upload: { url: string; method: string; headers: Record<string, string> }
    }
    await server.s3.handler(new Request(upload.url, { ...upload, body: 'hello' }))
    expect((await asAnn('POST', '/upload/confirm', { key: object.key, id: object.id })).status).toBe(200)
    expect((await asAnn('POST', '/upload', { ...file, size: 2e6 })).status).toBe(413)
    expect((await asAnn('DELETE', `/object?key=${object.key}`)).status).toBe(204)
    await server.tidyUp()
    await reader.forceFlush()

    await expect.poll(() => spans.getFinishedSpans()).toHaveLength(6)
    const traced = spans
      .getFinishedSpans()
      .map(({ name, attributes }) => [name, attributes['error.type'] ?? null])
    expect(traced).toEqual([
      ['files upload', null],
      ['files storage', null],
      ['files upload.confirm', null],
      ['files upload', 'QUOTA_EXCEEDED'],
      ['files delete', null],
      ['files cleanUp', null],
    ])
    // An operator first needs the owner and the route of a refused upload.
    expect(spans.getFinishedSpans()[3]!.attributes).toMatchObject({
      'files.scope': 'user:ann',
      'files.route': 'default',
    })

    const points = exporter
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
      .map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints.map(({ value }) => value)] as const)
    const values = Object.fromEntries(points)
    expect(values).toMatchObject({ 'files.stored': [5], 'files.deleted': [5] })
    const durations = values['files.operation.duration'] as Histogram[]
    expect(durations.reduce((sum, { count }) => sum + count, 0)).toBe(5)
    // The unit is seconds, so the smallest bucket must be below 10 ms.
    for (const { buckets } of durations) expect(buckets.boundaries[0]).toBeLessThan(0.01)
    // The deletion has just created a leftover.
    expect(values['files.leftovers.age']).toEqual([expect.any(Number)])
  } finally {
    await reader.shutdown()
    context.disable()
    trace.disable()
    metrics.disable()
  }
}

/** Without an SDK, the OpenTelemetry API does nothing, and the server must still work. */
const worksWithoutAnSdk: SnippetCheck = async (program) => {
  const server = await run<Recipe>(program)
  expect((await ask(server, 'user:ann', 'GET', '/db/objects')).status).toBe(200)
}

export const observabilityChecks: SnippetChecks = {
  'docs/observability.md#telemetry.ts': isTracedAndMeasured,
  'docs/observability.md#server.ts': worksWithoutAnSdk,
}
