"""kind: padding_mask
name: padding_mask
style: lambda with None indexing and Tensor.ne"""
padding_mask = lambda ids, pad_id: ids.ne(pad_id)[:, None, None, :]
