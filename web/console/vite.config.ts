import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// SLUICE names the operators' listener of a running server, for `npx vite`.
declare const process: { env: Record<string, string | undefined> };
const server = process.env.SLUICE ?? 'http://127.0.0.1:9090';

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: '../../internal/console/dist',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: true,
    chunkSizeWarningLimit: 1500,
  },
  server: { proxy: { '/v1': server, '/docs': server } },
});
