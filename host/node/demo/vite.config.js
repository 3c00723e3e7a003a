import { defineConfig } from 'vite';

export default defineConfig({
  base: './',
  build: { target: 'es2023', chunkSizeWarningLimit: 2_000 },
  worker: { format: 'es' },
  // The component lies beside the page.
  server: { fs: { allow: ['..'] } },
});
